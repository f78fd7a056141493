import type {
  AbortCause,
  JsonObject,
  LimitsChange,
  MessageContent,
  PermissionDecision,
  SettingsChange,
} from '@halting/core'
import type { PermissionAnswer } from '@halting/core/adapters'

/** A request to a session. */
export type SessionRequest =
  /** A message. It begins a run if none is running; otherwise `when` decides, as in `Session.prompt`. */
  | {
      readonly type: 'prompt'
      /** The message. */
      readonly content: MessageContent
      /** What happens to the message while a run is running. Default: `now`. */
      readonly when?: 'now' | 'next' | 'later'
    }
  /** Retracts a message that no run has received. */
  | {
      readonly type: 'retract'
      /** Id of the message. */
      readonly message: string
    }
  /** Ends the current run at once. */
  | {
      readonly type: 'interrupt'
      /** Who interrupts, and why. */
      readonly because?: AbortCause
      /** What happens to waiting messages. Default: `keep`. */
      readonly queue?: 'keep' | 'give_back'
    }
  /** Ends the current run at its next cancellation point. */
  | {
      readonly type: 'stop'
      /** A reason, for the record. */
      readonly message?: string
    }
  /** Ends waits for services that began at or before `since`, as in `waits` of the status. Later waits are not affected, whenever the request arrives. */
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
  /** Answers the permission request for this call. */
  | {
      readonly type: 'answer'
      /** Id of the call. */
      readonly callId: string
      /** The answer. */
      readonly answer: PermissionAnswer
    }
  /** Compacts the conversation. Begins a run. */
  | {
      readonly type: 'compact'
      /** What the summary should contain. */
      readonly instructions?: string
    }
  /** Continues the run that was interrupted. Begins a run. */
  | {
      readonly type: 'resume'
      /** Limits for the run that continues. Default: the limits that it had. */
      readonly limits?: LimitsChange
    }
  /** Continues a run that waits for approval, with the answers. Begins a run. */
  | {
      readonly type: 'approve'
      /** Answers by call id. */
      readonly approvals: { readonly [callId: string]: PermissionDecision }
    }
  /** Requests one last answer without tools. Begins a run. */
  | { readonly type: 'last_answer' }
  /** Rewinds the conversation to before a message of the person. */
  | {
      readonly type: 'rewind'
      /** Id of the message. */
      readonly before: string
    }
  /** Stops a background command or agent. */
  | {
      readonly type: 'stop_task'
      /** Id of the task. */
      readonly taskId: string
    }
  /** Ends the current run and closes the session. Its conversation can still be read and forked. */
  | { readonly type: 'close' }

/** A request with its id. */
export interface NamedRequest {
  /** The id; a second request with it has no effect. */
  readonly id: string
  /** The request. */
  readonly request: SessionRequest
}

/** A request that a session has accepted. Requests are numbered in order of arrival. */
export interface NumberedRequest extends NamedRequest {
  readonly number: number
}

/** How to open a new session. JSON that only the worker interprets. */
export type Opening = JsonObject

/** A request, with the opening for a new session. */
export interface PushRequest extends NamedRequest {
  /** How to open the session if it is new. */
  readonly opening?: Opening
}

/** What a request means while no run is running: it begins work, waits for a request that does, or has no effect. */
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

/** Whether the request also ends work that has not begun. Such a request does not wait for a place. */
export function isUrgent({ type }: Pick<SessionRequest, 'type'>): boolean {
  return type === 'interrupt' || type === 'stop' || type === 'close'
}

/** Name of the signal from the budget of a tenant. It is separate, so that neither signal hides the other. */
export const moneySignal = 'money'

/** The message of a tenant's budget that makes a session that waits for money repeat its request. Requests have numbers from 1. */
export const moneyMail: string = JSON.stringify({ number: 0, id: 'money', request: { type: 'money' } })

/** Maximum wait of a long poll: load balancers often close a connection that is silent for a minute. */
export const maxWaitMs = 50_000
