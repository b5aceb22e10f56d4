import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface Properties {
  label: string;
  children: ComponentChildren;
}

/** Represents what scrolls sideways by itself, also by keyboard, and shades the edges behind which there is more. */
export function Scroller({ label, children }: Properties) {
  const content = useRef<HTMLDivElement>(null);
  const [more, setMore] = useState({ before: false, after: false });

  useEffect(() => {
    const scrolled = content.current;
    if (!scrolled) return undefined;
    const measure = () => {
      const { scrollLeft, scrollWidth, clientWidth } = scrolled;
      const before = scrollLeft > 1;
      const after = scrollLeft + clientWidth < scrollWidth - 1;
      setMore((present) => (present.before === before && present.after === after ? present : { before, after }));
    };
    const sizes = new ResizeObserver(measure);
    for (const each of [scrolled, ...scrolled.children]) sizes.observe(each);
    scrolled.addEventListener("scroll", measure, { passive: true });
    return () => {
      sizes.disconnect();
      scrolled.removeEventListener("scroll", measure);
    };
  }, []);

  return (
    <div class={`scroller${more.before ? " more-before" : ""}${more.after ? " more-after" : ""}`}>
      <div class="scrolled" ref={content} tabIndex={0} role="region" aria-label={label}>
        {children}
      </div>
    </div>
  );
}
