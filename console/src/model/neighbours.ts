/** Reduces a model to what people want to see of it. */

import { joinTypes } from "./layout";
import type { Outline, OutlineType } from "./outline";

/** Returns a type with those that it leads to and those that lead to it. */
export function focusOn(outline: Outline, type: string): Outline {
  const near = new Set([type]);
  for (const { from, to } of joinTypes(outline)) {
    if (from === type) near.add(to);
    if (to === type) near.add(from);
  }
  const types = outline.types.filter((one) => near.has(one.name)).map((one) => keepJoined(one, near, type));
  return { ...outline, types };
}

/** Leaves out what leads from a neighbour to types that are not shown. */
function keepJoined(type: OutlineType, near: Set<string>, focused: string): OutlineType {
  if (type.name === focused) return type;
  const isNear = (subject: string) => near.has(subject.split(/[:#]/, 1)[0] ?? "");
  return {
    ...type,
    relations: type.relations.map((relation) => ({
      ...relation,
      allowed: relation.allowed?.filter(isNear),
      dependencies: relation.dependencies.map((one) => ({ ...one, types: one.types.filter((name) => near.has(name)) })),
    })),
  };
}
