import { estimateMessages } from '../../context/tokens.ts'
import type { Model } from '../../model/model.ts'
import type { Run } from '../run.ts'
import { currentModel } from './current-model.ts'
import { promptCountFor } from './prompt-count.ts'

/** Tokens that the next request is guessed to have. Made once for a conversation: the context layers and the figures ask for it. */
export function estimateRequest(run: Run): number {
  const model = currentModel(run)
  const { length } = run.transcript
  const { counted } = run.spent
  const { estimate } = run
  const isKnown = estimate?.length === length && estimate.counted === counted && estimate.model === model
  if (isKnown) return estimate.tokens
  const tokens = estimateAnew(run, model)
  run.estimate = { tokens, length, counted, model }
  return tokens
}

function estimateAnew(run: Run, model: Model): number {
  const { settings, tokens } = run.context
  const counted = promptCountFor(run, model)
  const messages = run.transcript.messages()
  if (counted !== undefined) return counted.tokens + estimateMessages(tokens, messages, counted.length)
  return tokens.estimate(settings.system) + estimateMessages(tokens, messages)
}
