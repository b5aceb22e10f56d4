/** Follows the colour scheme of the system, or the one that was chosen in the console. */

import { effect, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const STORED = "magistrate.theme";
const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };

const stored = localStorage.getItem(STORED);
export const theme = signal<Theme>(stored === "light" || stored === "dark" ? stored : "system");

effect(() => {
  document.documentElement.dataset.theme = theme.value;
});

export function changeTheme(): void {
  theme.value = NEXT[theme.value];
  localStorage.setItem(STORED, theme.value);
}
