import type { ComponentChildren } from "preact";

const PATHS = {
  yes: <path d="M3.5 8.5l3 3 6-7" />,
  no: <path d="M4 4l8 8M12 4l-8 8" />,
  unknown: <path d="M5.8 6a2.2 2.2 0 1 1 3.1 2c-.6.3-.9.7-.9 1.4M8 12.2v.1" />,
  why: <path d="M3 4h4v4H3zM9 10h4v3H9zM5 8v3.5h4" />,
  data: <path d="M2.5 4h11M2.5 8h11M2.5 12h11" />,
  queries: <path d="M7 11.5a4.5 4.5 0 1 1 0-9 4.5 4.5 0 0 1 0 9zM10.5 10.5l3 3" />,
  history: <path d="M8 4.5V8l2.5 1.5M2.5 8a5.5 5.5 0 1 0 1.8-4.1L2.5 5.5v-3" />,
  model: <path d="M8 2.5l5 3v5l-5 3-5-3v-5zM3 5.5l5 3 5-3M8 8.5v5" />,
  tests: <path d="M3 4.5l1.5 1.5L7 3M3 11l1.5 1.5L7 9.5M9 5h4.5M9 11.5h4.5" />,
  service: <path d="M2.5 3.5h11v4h-11zM2.5 9.5h11v3.5h-11zM5 5.5v.1M5 11.2v.1" />,
  store: <path d="M2.5 4.5c0-1.1 2.5-2 5.5-2s5.5.9 5.5 2-2.5 2-5.5 2-5.5-.9-5.5-2zM2.5 4.5v7c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2v-7M2.5 8c0 1.1 2.5 2 5.5 2s5.5-.9 5.5-2" />,
  theme: <path d="M8 2.5a5.5 5.5 0 1 0 5.5 5.5A4.2 4.2 0 0 1 8 2.5z" />,
  leave: <path d="M9.5 3H4v10h5.5M7 8h6.5M11 5.5L13.5 8 11 10.5" />,
  plus: <path d="M8 3.5v9M3.5 8h9" />,
};

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      {PATHS[name]}
    </svg>
  );
}

export type Tone = "yes" | "no" | "unknown";

/** Shows a truth by a sign and its word, so that it never depends on the colour. */
export function Mark({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return (
    <span class={`mark ${tone}`}>
      <Icon name={tone} />
      <span>{children}</span>
    </span>
  );
}
