import { isOfPerson, isText, uuidOf } from '@halting/core/adapters'
import type { MessageContent, TranscriptEntry } from '@halting/core'
import { mostWrittenCharacters, sentencesOf } from './sayings.ts'
import { secretIn, withoutSecrets } from './secrets.ts'
import type { Environment } from '../tools/limits.ts'

/** A message that a person wrote, in sentences. */
export interface PersonSaid {
  /** The uuid of the message. */
  readonly messageId: string
  /** Its sentences, in order. */
  readonly sentences: readonly string[]
}

/** What was said in a run, as far as notes may come of it. */
export interface Said {
  /** Id of the session. */
  readonly sessionId: string
  /** What persons wrote, in order. */
  readonly person: readonly PersonSaid[]
  /** Texts of the model, for the context: nothing of them is kept. */
  readonly assistant: readonly string[]
  /** Why sentences were left out, one each. */
  readonly withheld: readonly string[]
}

/** Options of the excerpt of a conversation from which notes are made. */
export interface SaidOptions {
  /** Id of the session. */
  readonly sessionId: string
  /** Secrets are told apart by its values. */
  readonly env: Environment
  /**
   * What the person wrote of the prompt, where the message has more: the text of a command, what was piped in. Undefined takes the message,
   * without what it brings in from files.
   */
  readonly written?: string | undefined
}

// Spec R-MEM-5.
/**
 * What persons and the model said in the entries of a run. Results of tools are none of it, nor what hooks and the loop said;
 * what looks like a secret is left out, of what the model said too.
 */
export function saidIn(entries: readonly TranscriptEntry[], { sessionId, env, written }: SaidOptions): Said {
  const person: PersonSaid[] = []
  const assistant: string[] = []
  const withheld: string[] = []
  for (const entry of entries) {
    if (entry.kind === 'assistant' && entry.error === undefined)
      assistant.push(
        ...entry.message.content.flatMap((block) => (isText(block) ? [withoutSecrets(block.text, env)] : [])),
      )
    if (entry.kind !== 'user' || !isOfPerson(entry)) continue
    const text = entry.origin === 'prompt' && written !== undefined ? written : ownText(entry.message.content)
    // A secret may stand over several lines, and behind the word that tells it: it is marked before the text is taken apart.
    const isByHand = text.length <= mostWrittenCharacters
    const sentences = (isByHand ? sentencesOf(withoutSecrets(text, env)) : []).filter((sentence) => {
      const why = secretIn(sentence, env)
      if (why !== undefined) withheld.push(why)
      return why === undefined
    })
    if (sentences.length > 0) person.push({ messageId: uuidOf(`${sessionId}/${entry.id}`), sentences })
  }
  return { sessionId, person, assistant, withheld }
}

/** The first text: what stands behind it are files that it names. */
function ownText(content: MessageContent): string {
  if (typeof content === 'string') return content
  return content.find(isText)?.text ?? ''
}
