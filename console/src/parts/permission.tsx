import type { ComponentChildren } from "preact";
import { access, findObstacle, type Need } from "../api";
import { asOf } from "../route";
import * as words from "../words";
import { Empty } from "./notice";

interface ButtonProperties {
  /** Why it cannot be used; undefined: it can. */
  obstacle: string | undefined;
  class: string;
  disabled?: boolean;
  onClick: () => void;
  children: ComponentChildren;
}

/** Represents a button that says why it cannot be used. It keeps its place and can be focused, so that all can read why. */
export function GuardedButton({ obstacle, disabled, onClick, children, ...properties }: ButtonProperties) {
  return (
    <button
      type="button"
      class={properties.class}
      disabled={disabled && !obstacle}
      aria-disabled={obstacle ? "true" : undefined}
      title={obstacle}
      onClick={obstacle ? undefined : onClick}
    >
      {children}
      {obstacle && <span class="sr">. {obstacle}.</span>}
    </button>
  );
}

/** Represents a button that changes something: the key must have a scope for it, and the past cannot be changed. */
export function ChangeButton({ needs, ...properties }: Omit<ButtonProperties, "obstacle"> & { needs: Need }) {
  return <GuardedButton obstacle={asOf.value ? words.permissions.past : findObstacle(needs)} {...properties} />;
}

/** Says once on a page why its buttons cannot be used. In the past, the bar at its top says it. */
export function Obstacle({ needs, children }: { needs: Need; children?: ComponentChildren }) {
  const obstacle = asOf.value ? undefined : findObstacle(needs);
  return obstacle ? (
    <span class="hint">
      {obstacle}
      {children ?? words.permissions.changesNothing}
    </span>
  ) : null;
}

/** Shows a page, or which scope it needs if the key lacks it: nothing is requested that the service would refuse. */
export function Permitted({ needs, children }: { needs: Need | undefined; children: ComponentChildren }) {
  const obstacle = needs && findObstacle(needs);
  if (!needs || !obstacle) return <>{children}</>;
  const { name = "console", scopes = [], objectTypes } = access.value ?? {};
  if (scopes.includes(needs.scope)) {
    return (
      <Empty title={`${obstacle}.`}>
        <p>{words.permissions.concernsAll}</p>
      </Empty>
    );
  }
  return (
    <Empty title={`${obstacle}.`}>
      <p>
        {words.permissions.needsScope(name, scopes.join(", "))}
      </p>
      <pre>{["magistrate keys create NAME", ...flags("scope", [...scopes, needs.scope]), ...flags("object-type", objectTypes)].join(" ")}</pre>
    </Empty>
  );
}

function flags(name: string, values: string[] = []): string[] {
  return values.map((value) => `--${name} ${value}`);
}
