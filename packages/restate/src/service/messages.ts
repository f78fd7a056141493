import type {
  AbortCause,
  JsonObject,
  LimitsChange,
  MessageContent,
  PermissionDecision,
  SettingsChange,
} from '@halting/core'
import type { PermissionAnswer } from '@halting/core/adapters'

/** What somebody asks of a session. All but the first begin no run by themselves, unless they say so. */
export type SessionRequest =
  /** A message. It begins a run where none goes on; else `when` says what becomes of it, as in `Session.prompt`. */
  | {
      readonly type: 'prompt'
      /** The message. */
      readonly content: MessageContent
      /** What becomes of it while a run is running. Default: `now`. */
      readonly when?: 'now' | 'next' | 'later'
    }
  /** Takes back a message that no run has taken. */
  | {
      readonly type: 'retract'
      /** Id of the message. */
      readonly message: string
    }
  /** Ends the run that goes on, at once. */
  | {
      readonly type: 'interrupt'
      /** Who interrupts, and why. */
      readonly because?: AbortCause
      /** What becomes of messages that wait. Default: `keep`. */
      readonly queue?: 'keep' | 'give_back'
    }
  /** Ends the run that goes on at its next checkpoint. */
  | {
      readonly type: 'stop'
      /** For the record, in words. */
      readonly message?: string
    }
  /** Ends the waits for services of the run that goes on which began by then, in milliseconds since 1970 as `waits` of the status has it: no later one, whenever it is heard. */
  | {
      readonly type: 'retry_now'
      /** Milliseconds since 1970. */
      readonly since: number
    }
  | {
      readonly type: 'set'
      /** The settings to change. */
      readonly change: SettingsChange
    }
  /** To the question about this call. */
  | {
      readonly type: 'answer'
      /** Id of the call. */
      readonly callId: string
      /** What the person answered. */
      readonly answer: PermissionAnswer
    }
  /** Makes the conversation shorter: begins a run. */
  | {
      readonly type: 'compact'
      /** What the summary is to contain, in words. */
      readonly instructions?: string
    }
  /** Goes on with the run that was left: begins one. */
  | {
      readonly type: 'resume'
      /** Limits for the run that continues. Default: those it had. */
      readonly limits?: LimitsChange
    }
  /** Goes on with a run that waits for approval, with what a person said: begins one. */
  | {
      readonly type: 'approve'
      /** Answers by call id. */
      readonly approvals: { readonly [callId: string]: PermissionDecision }
    }
  /** Asks for one last answer, without tools: begins a run. */
  | { readonly type: 'last_answer' }
  /** The conversation goes back to before a message of the person. */
  | {
      readonly type: 'rewind'
      /** Id of the message. */
      readonly before: string
    }
  /** Ends a command, or an agent, in the background. */
  | {
      readonly type: 'stop_task'
      /** Id of the task. */
      readonly taskId: string
    }
  /** Ends what goes on, and takes nothing more: the session is over. What it has said can be read and forked. */
  | { readonly type: 'close' }

/** A request with the name under which it counts once. */
export interface NamedRequest {
  /** The name; a second request with it changes nothing. */
  readonly id: string
  /** The request. */
  readonly request: SessionRequest
}

/** One that a session has taken in: they are numbered in the order in which it hears of them. */
export interface NumberedRequest extends NamedRequest {
  readonly number: number
}

/** How a session is opened for the first time. JSON; what it means is the worker's affair. */
export type Opening = JsonObject

/** What a request is given with. */
export interface PushRequest extends NamedRequest {
  /** How the session is opened, if it is new. */
  readonly opening?: Opening
}

/** What a request means where no run goes on: it begins work, waits for what does, or means nothing. */
export function whenIdle({ type }: Pick<SessionRequest, 'type'>): 'begins' | 'waits' | 'moot' {
  switch (type) {
    case 'prompt':
    case 'compact':
    case 'resume':
    case 'approve':
    case 'last_answer':
    case 'rewind':
      return 'begins'
    case 'set':
      return 'waits'
    case 'retract':
    case 'interrupt':
    case 'stop':
    case 'retry_now':
    case 'answer':
    case 'stop_task':
    case 'close':
      return 'moot'
  }
}

/** Whether it ends work that has not begun, too: such a request waits for no place. */
export function isUrgent({ type }: Pick<SessionRequest, 'type'>): boolean {
  return type === 'interrupt' || type === 'stop' || type === 'close'
}

/** The name under which the budget of a tenant sends its message: one of its own, so that neither covers a request. */
export const moneySignal = 'money'

/** What the budget of a tenant tells the work at a session that waits for money: to ask again. Requests have numbers from 1. */
export const moneyMail: string = JSON.stringify({ number: 0, id: 'money', request: { type: 'money' } })

/** A call that waits for a change waits at most this long: balancers often cut a connection on which nothing happens for a minute. */
export const maxWaitMs = 50_000
