"""Tests in a real browser. They take the fixture `page`, and are skipped where no Chromium is installed."""
