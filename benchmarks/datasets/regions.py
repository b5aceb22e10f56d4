"""Who is responsible for many parts of a data set: ten regions make an area, and ten areas the world.

All parts in a region are alike in size; so the region, the area and the world stand for much, ten times and a hundred
times as much.
"""

REGIONS = 100
_AREA = 10

RANKS = ("region-0", "area-0", "world")
"""One of each rank."""

WITHIN: dict[str, str] = {
    **{f"region-{region}": f"area-{region // _AREA}" for region in range(REGIONS)},
    **{f"area-{area}": "world" for area in range(REGIONS // _AREA)},
}
"""Each region and its area, each area and the world."""

RESPONSIBLE = (*WITHIN, "world")
"""The names of all of them."""
