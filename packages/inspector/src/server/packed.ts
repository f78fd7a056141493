/** Many values of one shape as JSON that says once what they have in common; `unpacked` of the page makes the same values of it. */
export type Packed =
  /** So many times the same. */
  | { readonly same: unknown; readonly count: number }
  /** Whole numbers by how much each is more than the one before. */
  | { readonly steps: readonly number[] }
  /** Texts of which many are the same, by their places among those that differ. */
  | { readonly texts: readonly string[]; readonly of: Packed }
  /** Objects, by field. */
  | { readonly fields: { readonly [name: string]: Packed }; readonly count: number }
  /** Lists, by their lengths. */
  | { readonly lengths: Packed; readonly items: Packed }
  /** What is `value` at these places, and all others in their order. */
  | { readonly except: readonly number[]; readonly value?: null; readonly others: Packed; readonly count: number }
  | { readonly values: readonly unknown[] }

/** Packs JSON values. What is undefined, as a field that only some objects have, is undefined again. */
export function packed(values: readonly unknown[]): Packed {
  const count = values.length
  const [first] = values
  if (count === 0) return { values: [] }
  if ((first === null || typeof first !== 'object') && first !== undefined && values.every((value) => value === first))
    return { same: first, count }
  for (const value of [undefined, null])
    if (values.includes(value)) {
      const except: number[] = []
      const others: unknown[] = []
      for (let place = 0; place < count; place++) {
        const each = values[place]
        if (each === value) except.push(place)
        else others.push(each)
      }
      return { except, ...(value === null && { value }), others: packed(others), count }
    }
  if (values.every((value) => typeof value === 'number')) return packedNumbers(values)
  if (values.every((value) => typeof value === 'string')) return packedTexts(values)
  if (values.every(Array.isArray)) {
    // Checked right before.
    const lists = values as readonly (readonly unknown[])[]
    return { lengths: packed(lists.map(({ length }) => length)), items: packed(lists.flat()) }
  }
  return values.every(isObject) ? packedObjects(values) : { values }
}

function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function packedNumbers(values: readonly number[]): Packed {
  if (!values.every(Number.isSafeInteger)) return { values }
  let [before, plain, stepped] = [0, 0, 0]
  for (const value of values) {
    plain += Math.abs(value)
    stepped += Math.abs(value - before)
    before = value
  }
  // Sums that are not exact may have steps that are not.
  if (stepped >= plain || stepped > Number.MAX_SAFE_INTEGER) return { values }
  return { steps: values.map((value, place) => value - (place === 0 ? 0 : (values[place - 1] ?? 0))) }
}

function packedTexts(values: readonly string[]): Packed {
  const places = new Map<string, number>()
  for (const value of values) if (!places.has(value)) places.set(value, places.size)
  if (places.size * 2 > values.length) return { values }
  return { texts: [...places.keys()], of: packed(values.map((value) => places.get(value))) }
}

function packedObjects(values: readonly { readonly [name: string]: unknown }[]): Packed {
  const names = new Set<string>()
  for (const value of values) for (const name of Object.keys(value)) names.add(name)
  // More of them than a table has columns: by themselves they are shorter.
  if (names.size > 64) return { values }
  const fields = [...names].map((name) => {
    const own = values.map((value) => (Object.hasOwn(value, name) ? value[name] : undefined))
    return [name, packed(own)] as const
  })
  return { fields: Object.fromEntries(fields), count: values.length }
}
