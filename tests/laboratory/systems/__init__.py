"""Tests of the systems under test."""
