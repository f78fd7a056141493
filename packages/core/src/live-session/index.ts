// `@halting/core/session`: one conversation for frontends, with its runs, queue and questions.
export type {
  Activity,
  BackgroundTask,
  ContextUsage,
  Interrupted,
  InterruptOptions,
  LimitsInForce,
  PromptOptions,
  QueuedMessage,
  Question,
  RewindOptions,
  Rewound,
  Session,
  SessionEvent,
  SessionFigures,
  SessionGoal,
  SessionSnapshot,
  WaitingRequest,
} from './session.ts'
export { createSession } from './create-session.ts'
export { nextStop, type LeftOfRun, type NextStop } from './next-stop.ts'
export type { SessionParts, SessionFile } from './session-parts.ts'
// For sessions that another process runs.
export { checkPrompt } from './check-prompt.ts'
export { EventListeners } from './event-listeners.ts'
