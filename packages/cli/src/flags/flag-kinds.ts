import type { Command } from './command-table.ts'
import type { Reading } from './values.ts'

/** The topic of a flag; help has one section per topic. */
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

/** A command, or a subcommand that alone accepts a flag: `cluster dev`. */
export type FlagOwner = Command | `${Command} ${string}`

interface FlagBase {
  /** All spellings; help shows the first one first. */
  readonly names: readonly string[]
  readonly topic: FlagTopic
  /** The only commands that accept the flag, in the order of error messages. If absent, runs and all commands accept it. */
  readonly commands?: readonly FlagOwner[]
  /** Commands that accept the flag although they do not accept the other flags of runs. */
  readonly alsoOf?: readonly Command[]
  /** Whether the flag needs a host, or a stream of messages. */
  readonly needs?: 'host' | 'stream'
  /** What to use instead of the flag for a run. */
  readonly insteadForRuns?: string
  /** Help text: an imperative, with the default in parentheses. */
  readonly meaning: string
  /** Help text for commands where it means something else. */
  readonly meaningFor?: { readonly [name in Command]?: string }
}

interface SwitchFlag extends FlagBase {
  readonly kind: 'switch'
}

export interface ValueFlag<Value> extends FlagBase {
  readonly kind: 'value'
  /** Placeholder of the value in help. */
  readonly value: string
  read(given: string): Reading<Value>
  /** The value if the flag is given without one, which makes the value optional. An argument with a space is then the prompt. */
  readonly without?: Value
}

/** A flag whose values accumulate. */
export interface ListFlag extends FlagBase {
  readonly kind: 'list'
  readonly value: string
  read(given: string): Reading<readonly string[]>
  /** Whether the next argument is another value of this flag, and not the prompt. */
  takesMore?(argument: string): boolean
}

export type FlagFor<Value> = [Value] extends [boolean]
  ? SwitchFlag
  : [Value] extends [readonly string[]]
    ? ListFlag
    : ValueFlag<Value>

export type AnyFlag = SwitchFlag | ListFlag | ValueFlag<unknown>
