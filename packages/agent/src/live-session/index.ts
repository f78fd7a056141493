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
export type { NextStop } from './next-stop.ts'
