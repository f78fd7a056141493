import type { JsonObject } from '@halting/core'
import { stringOf } from '../json-fields.ts'
import type { OpenItem } from './open-item.ts'

/**
 * The items of a whole response, each with the place of the one that was streamed, or undefined for one that was not.
 * Places may differ, since gateways leave items out of either: a call is known by its id, any other item by its place and
 * type, and one of a type that was streamed is taken for one of those.
 */
export function pairWhole(
  whole: readonly JsonObject[],
  streamed: ReadonlyMap<number, OpenItem>,
): readonly (readonly [place: number | undefined, item: JsonObject])[] {
  const inOrder = [...streamed].toSorted(([a], [b]) => a - b)
  const isSame = whole.length === inOrder.length && whole.every(({ type }, index) => inOrder[index]?.[1].type === type)
  if (isSame) return whole.map((item, index) => [inOrder[index]?.[0], item] as const)
  const free = new Map(inOrder)
  const types = new Set(inOrder.map(([, { type }]) => type))
  const places = new Map(inOrder.map(([place, { callId = '' }]) => [callId, place]))
  const isNameless = (place: number): boolean => (free.get(place)?.callId ?? '') === ''
  return whole.flatMap((item, index) => {
    const id = stringOf(item.call_id)
    const place = (id === '' ? undefined : places.get(id)) ?? (isNameless(index) ? index : undefined)
    const isStreamed = place !== undefined && free.get(place)?.type === item.type
    if (isStreamed) free.delete(place)
    else if (id === '' && types.has(stringOf(item.type))) return []
    return [[isStreamed ? place : undefined, item] as const]
  })
}
