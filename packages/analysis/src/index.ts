// `@halting/analysis`: what the records of finished sessions come to. It reads no file, so it runs in a browser, too.
export { changes, whatIfPriced } from './what-if/changing-calls.ts'
export { answerRuns } from './what-if/answer-runs.ts'
export type { RunAnswer, WhatIfAnswers } from './what-if/run-answer.ts'
