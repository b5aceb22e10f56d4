"""The resources of v1, with the bodies that create them."""

RESOURCES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "users": ("user", "userId", ("email",)),
    "tenants": ("tenant", "tenantId", ("name",)),
    "roles": ("role", "roleId", ("name", "description")),
    "permissions": ("permission", "permissionId", ("name", "description")),
    "features": ("feature", "featureId", ("name", "description")),
    "pricing-tiers": ("pricing-tier", "pricingTierId", ("name", "description")),
}
