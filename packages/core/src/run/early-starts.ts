import type { ToolUseBlock } from '../model/messages.ts'
import type { InspectedCall } from './call.ts'

/** Looks at calls while their message still streams. */
export interface EarlyLook {
  /** Starts the call when rules alone allow it, else it may say what it came to know. */
  lookAt(call: ToolUseBlock, index: number): InspectedCall | undefined
}

interface ConsideredCall {
  readonly made: ToolUseBlock
  readonly looked: InspectedCall
}

// Spec R-TOOL-6.
/**
 * The leading calls of a message, looked at while it still streams; read-only ones start, which is speculation and no step.
 * E1: the first call that does not start is the last that is looked at. E2: once the message is on record, what is known of a call
 * is taken over by that very call: the same place, id, tool and input. E3: what is not taken over is discarded;
 * a rejection of it is handled from the start.
 */
export class EarlyStarts {
  readonly #limit: number
  readonly #look: EarlyLook | undefined
  /** Each beside the call as the model made it: what is known of it may have its input in another form. */
  #calls: ConsideredCall[] | undefined
  #isOver = false

  constructor(limit: number, look: EarlyLook | undefined) {
    this.#limit = limit
    this.#look = look
  }

  /** A call of the message is complete. */
  consider(call: ToolUseBlock): void {
    if (this.#isOver) return
    const index = this.#calls?.length ?? 0
    const looked = index < this.#limit ? this.#look?.lookAt(call, index) : undefined
    if (looked !== undefined) this.#add({ made: call, looked })
    this.#isOver = looked?.kind !== 'valid' || looked.started === undefined
  }

  #add(call: ConsideredCall): void {
    // A list that begins empty would be made for seventeen.
    if (this.#calls === undefined) this.#calls = [call]
    else this.#calls.push(call)
  }

  /** What is known of the call in this place of the message. */
  find(call: ToolUseBlock, index: number): InspectedCall | undefined {
    const known = this.#calls?.[index]
    return known !== undefined && isSame(known.made, call) ? known.looked : undefined
  }
}

/** A driver may give the message back as a copy. */
function isSame(a: ToolUseBlock, b: ToolUseBlock): boolean {
  if (a === b) return true
  return a.id === b.id && a.name === b.name && JSON.stringify(a.input) === JSON.stringify(b.input)
}

export const noEarlyStarts: EarlyStarts = new EarlyStarts(0, undefined)
