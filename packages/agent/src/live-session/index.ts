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
  SessionSnapshot,
} from './session.ts'
export { createSession } from './create-session.ts'
export { nextStop, type LeftOfRun, type NextStop } from './next-stop.ts'
export type { SessionParts } from './parts.ts'
// For sessions that are elsewhere.
export { checkPrompt } from './check-prompt.ts'
export { EventListeners } from './event-listeners.ts'
