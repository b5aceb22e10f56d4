"""Declares the application that INSTALLED_APPS names."""

from __future__ import annotations

from django.apps import AppConfig


class MagistrateConfig(AppConfig):
    """Configures the application, whose label would be `django` without it."""

    name = "magistrate_client.django"
    label = "magistrate"
