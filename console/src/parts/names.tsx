import { choosePreposition } from "../explanation";
import { writeObject, type ObjectName, type Subject, type WarrantKey } from "../names";
import { showObject, showRelation, showSubject, showText } from "../openfga_names";
import { link } from "../route";
import * as words from "../words";

/** A name of more characters than this may be broken anywhere; a shorter one is kept whole in a table. */
const MOST_WHOLE = 40;

/** Returns the class of a name, by its length. */
export function classOfName(name: string): string {
  return name.length > MOST_WHOLE ? "name long" : "name";
}

/** Shows an object as a link to its page. */
export function ObjectLink({ object }: { object: ObjectName }) {
  const name = showObject(object);
  if (object.objectId === "*") return <span class={classOfName(name)}>{name}</span>;
  return (
    <a class={classOfName(name)} href={link("object", { name: writeObject(object) })}>
      {name}
    </a>
  );
}

export function SubjectLink({ subject }: { subject: Subject }) {
  if (!subject.relation) return <ObjectLink object={subject} />;
  const name = showSubject(subject);
  if (subject.objectId === "*") return <span class={classOfName(name)}>{name}</span>;
  return (
    <a class={classOfName(name)} href={link("object", { name: writeObject(subject) })}>
      {name}
    </a>
  );
}

/** Shows a warrant in words: who is what of which object, and under which condition. */
export function WarrantWords({ warrant }: { warrant: WarrantKey }) {
  const relation = showRelation(warrant.relation);
  return (
    <span class="words">
      {words.warrants.sentence(
        <SubjectLink subject={warrant.subject} />,
        relation,
        choosePreposition(relation),
        <ObjectLink object={warrant} />,
        warrant.policy && showText(warrant.policy),
      )}
    </span>
  );
}
