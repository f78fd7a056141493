// `@halting/analysis/transcript`: what was said in a session, also in a turn that was cut off.
export { recordedTranscript, displayTranscript } from './transcripts.ts'
export { waitingCalls, pendingOf, type WaitingCall } from './waiting-calls.ts'
export { lineWith, readDisplayTranscript, readRecordedTranscript } from './transcripts.ts'
