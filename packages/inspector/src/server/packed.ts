/** Many values of one shape as JSON that states common parts only once; `unpacked` of the page restores them. */
export type Packed =
  /** The same value, repeated. */
  | { readonly same: unknown; readonly count: number }
  /** Integers, as differences to the one before. */
  | { readonly steps: readonly number[] }
  /** Repeated texts, as indices into the distinct ones. */
  | { readonly texts: readonly string[]; readonly of: Packed }
  /** Objects, as a column for each field. */
  | { readonly fields: { readonly [name: string]: Packed }; readonly count: number }
  /** Lists, as their lengths and all items. */
  | { readonly lengths: Packed; readonly items: Packed }
  /** Values of which those at these indices are `value`, and the others follow in order. */
  | { readonly except: readonly number[]; readonly value?: null; readonly others: Packed; readonly count: number }
  | { readonly values: readonly unknown[] }

/** Packs JSON values. An undefined value, such as a field that only some objects have, is restored as undefined. */
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
  // Inexact sums may have inexact differences.
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
  // Too many distinct fields for columns: the plain values are shorter.
  if (names.size > 64) return { values }
  const fields = [...names].map((name) => {
    const own = values.map((value) => (Object.hasOwn(value, name) ? value[name] : undefined))
    return [name, packed(own)] as const
  })
  return { fields: Object.fromEntries(fields), count: values.length }
}
