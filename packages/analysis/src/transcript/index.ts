// `@halting/analysis/transcript`: the transcript of a session, including a turn that was cut off.
export { recordedTranscript, displayTranscript } from './transcripts.ts'
export { waitingCalls, pendingCalls, type WaitingCall } from './waiting-calls.ts'
export { lineWith, readDisplayTranscript, readRecordedTranscript } from './transcripts.ts'
