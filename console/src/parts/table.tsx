import type { ComponentChildren } from "preact";
import { Scroller } from "./scroller";

interface Properties {
  label: string;
  headings: string[];
  /** Whether there is a last column with links and buttons. */
  hasActions?: boolean;
  /** The rows. */
  children: ComponentChildren;
}

/** Represents a table that scrolls by itself, also by keyboard, where the screen is narrow. */
export function Table({ label, headings, hasActions, children }: Properties) {
  return (
    <Scroller label={label}>
      <table>
        <thead>
          <tr>
            {headings.map((heading) => (
              <th scope="col" key={heading}>
                {heading}
              </th>
            ))}
            {hasActions && (
              <th scope="col">
                <span class="sr">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </Scroller>
  );
}
