import type { Command } from './command-table.ts'
import type { Reading } from './values.ts'

/** What a flag is about: the help of all flags has one section for each. */
export type FlagTopic =
  | 'output'
  | 'model'
  | 'sessions'
  | 'limits'
  | 'context'
  | 'goals'
  | 'tools'
  | 'hosts'
  | 'cluster'
  | 'commands'
  | 'program'

/** A command, or a part of it that alone takes a flag: `cluster dev`. */
export type FlagOwner = Command | `${Command} ${string}`

interface Common {
  /** Every spelling, the one that help shows first. */
  readonly names: readonly string[]
  readonly topic: FlagTopic
  /** The only commands that take it, in the order in which a refusal names them; runs and all commands when absent. */
  readonly commands?: readonly FlagOwner[]
  /** Commands that take it although they take no flags of runs. */
  readonly alsoOf?: readonly Command[]
  /** It has an effect only with a host, or only in a stream of messages. */
  readonly needs?: 'host' | 'stream'
  /** What a run takes in its place. */
  readonly insteadForRuns?: string
  /** What it does, for help: an imperative, with the default in parentheses. */
  readonly meaning: string
  /** What it does for a command where that differs. */
  readonly meaningFor?: { readonly [name in Command]?: string }
}

interface SwitchFlag extends Common {
  readonly kind: 'switch'
}

export interface ValueFlag<Value> extends Common {
  readonly kind: 'value'
  /** How help calls the value. */
  readonly value: string
  read(given: string): Reading<Value>
  /** What stands for it where none is given: it may be left out then, and what has a space in it is the prompt. */
  readonly without?: Value
}

/** Given several times, its values add up. */
export interface ListFlag extends Common {
  readonly kind: 'list'
  readonly value: string
  read(given: string): Reading<readonly string[]>
  /** Whether an argument after its value is one more value, and not the prompt. */
  takesMore?(argument: string): boolean
}

export type FlagFor<Value> = [Value] extends [boolean]
  ? SwitchFlag
  : [Value] extends [readonly string[]]
    ? ListFlag
    : ValueFlag<Value>

export type AnyFlag = SwitchFlag | ListFlag | ValueFlag<unknown>
