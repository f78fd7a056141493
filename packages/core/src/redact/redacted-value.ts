type Redact = (text: string) => string

/** The same JSON with every text in it as `redact` leaves it, keys too. What holds nothing to redact is the same object. */
export function redactedValue<T>(value: T, redact: Redact): T {
  // Each part is in the place of one of its kind.
  return redacted(value, redact) as T
}

function redacted(value: unknown, redact: Redact): unknown {
  if (typeof value === 'string') return redact(value)
  if (typeof value !== 'object' || value === null) return value
  return Array.isArray(value) ? redactedList(value, redact) : redactedObject(value, redact)
}

/** Every record goes through here, and hardly one holds anything: nothing is copied before that is known. */
function redactedList(list: readonly unknown[], redact: Redact): readonly unknown[] {
  let copy: unknown[] | undefined
  for (let index = 0; index < list.length; index++) {
    const part = redacted(list[index], redact)
    if (part !== list[index]) (copy ??= [...list])[index] = part
  }
  return copy ?? list
}

function redactedObject(object: object, redact: Redact): object {
  // Own keys of it.
  const parts = object as { readonly [key: string]: unknown }
  const keys = Object.keys(parts)
  let changed: Map<string, unknown> | undefined
  let hasOtherKeys = false
  for (const key of keys) {
    const part = redacted(parts[key], redact)
    if (part !== parts[key]) (changed ??= new Map()).set(key, part)
    hasOtherKeys ||= redact(key) !== key
  }
  if (changed === undefined && !hasOtherKeys) return object
  // `fromEntries` defines its keys: one named `__proto__` stays a key.
  return Object.fromEntries(
    keys.map((key) => [redact(key), changed?.has(key) === true ? changed.get(key) : parts[key]]),
  )
}
