import type { Packed } from '../../server/packed.ts'

/** The values that the server packed. */
export function unpacked(packed: Packed): readonly unknown[] {
  if ('values' in packed) return packed.values
  if ('same' in packed) return Array.from({ length: packed.count }, () => packed.same)
  if ('steps' in packed) {
    let sum = 0
    return packed.steps.map((step) => (sum += step))
  }
  if ('texts' in packed) return unpacked(packed.of).map((place) => packed.texts[Number(place)])
  if ('lengths' in packed) {
    const items = unpacked(packed.items)
    let from = 0
    return unpacked(packed.lengths).map((length) => items.slice(from, (from += Number(length))))
  }
  if ('except' in packed) {
    const { except, others, count, value } = packed
    const rest = unpacked(others)
    let [left, at] = [0, 0]
    return Array.from({ length: count }, (_, place) => (except[left] === place ? (left++, value) : rest[at++]))
  }
  const columns = Object.entries(packed.fields).map(([name, column]) => [name, unpacked(column)] as const)
  return Array.from({ length: packed.count }, (_, row) =>
    Object.fromEntries(columns.flatMap(([name, values]) => (values[row] === undefined ? [] : [[name, values[row]]]))),
  )
}
