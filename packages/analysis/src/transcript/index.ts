// `@halting/analysis/transcript`: the transcript of a session, including an interrupted turn.
export { recordedTranscript, displayTranscript } from './transcripts.ts'
export { waitingCalls, pendingCalls, type WaitingCall } from './waiting-calls.ts'
export { lineWith, readDisplayTranscript, readRecordedTranscript } from './transcripts.ts'
