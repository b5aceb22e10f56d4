import { choosePreposition } from "../explanation";
import { writeObject, writeSubject, type ObjectName, type Subject, type WarrantKey } from "../names";
import { link } from "../route";

/** A name of more characters than this may be broken anywhere; a shorter one is kept whole in a table. */
const MOST_WHOLE = 40;

/** Returns the class of a name, by its length. */
export function classOfName(name: string): string {
  return name.length > MOST_WHOLE ? "name long" : "name";
}

/** Shows an object as a link to its page. */
export function ObjectLink({ object }: { object: ObjectName }) {
  const name = writeObject(object);
  if (object.objectId === "*") return <span class={classOfName(name)}>{name}</span>;
  return (
    <a class={classOfName(name)} href={link("object", { name })}>
      {name}
    </a>
  );
}

export function SubjectLink({ subject }: { subject: Subject }) {
  if (!subject.relation) return <ObjectLink object={subject} />;
  const name = writeSubject(subject);
  if (subject.objectId === "*") return <span class={classOfName(name)}>{name}</span>;
  return (
    <a class={classOfName(name)} href={link("object", { name: writeObject(subject) })}>
      {name}
    </a>
  );
}

/** Shows a warrant in words: who is what of which object, and under which condition. */
export function WarrantWords({ warrant }: { warrant: WarrantKey }) {
  return (
    <span class="words">
      <SubjectLink subject={warrant.subject} /> is <b>{warrant.relation}</b>{" "}
      {choosePreposition(warrant.relation)} <ObjectLink object={warrant} />
      {warrant.policy && (
        <>
          {" "}
          if <code>{warrant.policy}</code>
        </>
      )}
    </span>
  );
}
