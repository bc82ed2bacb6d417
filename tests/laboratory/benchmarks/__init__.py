"""Tests of the laboratory's test programs (C)."""
