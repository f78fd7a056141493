import type { ModelMessage } from '@halting/core'
import type { Home, Part, RenderedMessage, RenderedMessages } from './rendered-messages.ts'
import type { Slab } from './slab.ts'
import type { Breakpoints, TurnKind, WireFormat } from './wire-format.ts'

/** What the service is to see as one message: a message, or neighbours that were merged. Never empty. */
export interface Turn {
  readonly kind: TurnKind
  /** What must stand between the turn before it and this one. */
  readonly joint: string
  readonly messages: readonly RenderedMessage[]
  /** The place of its first message in the list. */
  readonly from: number
}

/** Where a list of messages goes on. */
export interface TurnsStart {
  readonly from: number
  /** The kind of the turn before; null when there is none. */
  readonly lastKind: TurnKind | null
}

export function turnsOf(
  messages: readonly ModelMessage[],
  { from, lastKind }: TurnsStart,
  renderings: RenderedMessages,
  format: WireFormat,
): readonly Turn[] {
  const turns: Turn[] = []
  let merging: RenderedMessage[] = []
  for (let index = from; index < messages.length; index++) {
    const message = messages[index]
    if (message === undefined) continue
    const rendered = renderings.of(message)
    if (rendered.first === null && rendered.rest === null) continue
    const { kind } = rendered
    if (kind.merges && turns.at(-1)?.kind === kind) {
      merging.push(rendered)
    } else {
      merging = [rendered]
      const before = turns.at(-1)?.kind ?? lastKind
      const joint = before === null ? '' : (format.between?.(before, kind) ?? '')
      turns.push({ kind, joint, messages: merging, from: index })
    }
  }
  return turns
}

/** The newest turns that get a breakpoint, as places among `turns`, in order. */
export function markedTurns(turns: readonly Turn[], breakpoints: Breakpoints | undefined): readonly number[] {
  const marked: number[] = []
  if (breakpoints === undefined) return marked
  for (let index = turns.length - 1; index >= 0 && marked.length < breakpoints.turns; index--) {
    if (turns[index]?.kind.takesBreakpoint === true) marked.unshift(index)
  }
  return marked
}

/** About what the turns take. */
export function lengthOf(turns: readonly Turn[]): number {
  let length = 0
  for (const { kind, joint, messages } of turns) {
    length += joint.length + kind.opening.length + kind.closing.length + 2
    for (const { first, rest } of messages) length += (first?.length ?? 0) + (rest?.length ?? 0) + 2
  }
  return length
}

/** `fields`: what its last value has besides its own. */
export function writeTurn(slab: Slab, turn: Turn, fields: string): void {
  begin(slab, turn)
  forEachPart(turn, slab, (part) => part.write(slab))
  if (fields !== '') {
    slab.truncate(slab.length - '}'.length)
    slab.write(`${fields}}`)
  }
  slab.write(turn.kind.closing)
}

/** Writes a turn where it stays. `base` is where the messages begin in `slab`. */
export function settleTurn(slab: Slab, turn: Turn, home: Home, base: number): void {
  begin(slab, turn)
  forEachPart(turn, slab, (part) => part.settle(slab, home, base))
  slab.write(turn.kind.closing)
}

const openBracket = 0x5b
const comma = 0x2c

function begin(slab: Slab, { kind, joint }: Turn): void {
  if (slab.last !== openBracket && slab.last !== comma) slab.write(',')
  if (joint !== '') slab.write(`${joint},`)
  slab.write(kind.opening)
}

function forEachPart({ messages }: Turn, slab: Slab, take: (part: Part) => void): void {
  let follows = false
  const each = (part: Part | null): void => {
    if (part === null) return
    if (follows) slab.write(',')
    take(part)
    follows = true
  }
  for (const { first } of messages) each(first)
  for (const { rest } of messages) each(rest)
}
