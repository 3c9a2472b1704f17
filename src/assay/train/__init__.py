"""Train the critic and test it: rollouts, labels, records, and the benchmarks of process reward models."""
