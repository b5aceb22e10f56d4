import { showMoment, showTime } from "../names";

interface Properties {
  time: string;
  /** Whether seconds and the zone are shown, too. */
  isExact?: boolean;
}

/** Shows a time as people read it, and exactly on hover. */
export function Time({ time, isExact = false }: Properties) {
  return (
    <time dateTime={time} title={time}>
      {isExact ? showMoment(time) : showTime(time)}
    </time>
  );
}
