"""Assay: measure and refine multimodal reasoning."""

__version__ = "0.1.0"
