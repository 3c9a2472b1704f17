"""Language models that read replies: an extractor finds the answer in a reply, a judge says whether it is right.

`asking` asks about one reply, `reading` goes through a run on disk, `checking` compares a judge with gold labels.
Why they work as they do is in `docs/judging.md`.
"""
