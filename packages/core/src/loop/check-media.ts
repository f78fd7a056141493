import { after, type Eventually } from '../values/eventually.ts'
import { mediaProblem } from '../model/media/media-problem.ts'
import { mediaIn, type MediaPlace, type PlacedMedia } from '../model/media/places.ts'
import { isTooMuch, mediaDropped, noMedia, plusMedia, type MediaTotals } from '../model/media/too-much.ts'
import type { ModelMessage } from '../model/messages.ts'
import { noCount } from '../state/state.ts'
import { isOfPerson, type TranscriptEntry } from '../conversation/transcript.ts'
import { mediaErrorDraft } from '../run/pending-endings.ts'
import { ends, type Outcome } from '../run/outcome.ts'
import { isAsked, type Run } from '../run/run.ts'
import { mediaRemoved, olderMediaRemoved } from '../run/turn-texts.ts'

// Images and documents that a service would refuse never go out: one that is in the conversation would be refused in every later request too.

/** What gives way to notes before a request, as it goes on record. */
type MediaRemoval = {
  readonly removed: readonly { readonly note: string; readonly at: readonly MediaPlace[] }[]
  /** What is wrong with what the person just said; null when the run goes on. */
  readonly refused: string | null
}

/** Puts notes in the place of what would be refused. An outcome when the person just gave it: then they want to know, and not an answer without it. */
export function checkMedia(run: Run): Eventually<Outcome | undefined> {
  const name = `media:${run.spent.request}`
  // What is on record stands, whatever this program would take (spec R-RES-11).
  const isRecorded = run.isRecorded(name)
  if (!isRecorded && isAsked(run)) return undefined
  const due = isRecorded ? nothingRemoved : removalDue(run)
  if (due === undefined) return undefined
  return after(
    run.step<MediaRemoval>(name, () => due),
    ({ value }) => enter(run, value),
  )
}

const nothingRemoved: MediaRemoval = Object.freeze({ removed: [], refused: null })

function enter(run: Run, { removed, refused }: MediaRemoval): Outcome | undefined {
  const counted = run.spent.counted.length
  // The count holds while all that it covers stands there.
  if (removed.some(({ at }) => at.some(([message = 0]) => message < counted))) run.update({ counted: noCount })
  for (const { note, at } of removed) run.append({ kind: 'media_removed', id: run.entryId('media_removed'), note, at })
  return refused === null ? undefined : ends(mediaErrorDraft(refused))
}

function removalDue(run: Run): MediaRemoval | undefined {
  const { mediaLimits } = run.context
  const { problems, totals } = lookAtAdded(run) ?? lookAtAll(run)
  run.mediaSeen = { length: run.transcript.length, totals }
  if (problems.length === 0 && !isTooMuch(totals, mediaLimits)) return undefined
  const noted = new Map<string, MediaPlace[]>()
  for (const { placed, what } of problems)
    addTo(noted, mediaRemoved(isImage(placed) ? 'image' : 'document', what), placed.at)
  const refused = refusedOf(run, problems)
  if (refused === null) {
    const bad = new Set(problems.map(({ placed: { block } }) => block))
    const rest = allMedia(run.transcript.messages()).filter(({ block }) => !bad.has(block))
    for (const { why, at } of mediaDropped(rest, mediaLimits))
      for (const place of at) addTo(noted, olderMediaRemoved(why), place)
  }
  if (noted.size === 0) return undefined
  return { removed: [...noted].map(([note, at]) => ({ note, at })), refused }
}

function addTo(noted: Map<string, MediaPlace[]>, note: string, at: MediaPlace): void {
  const places = noted.get(note)
  if (places === undefined) noted.set(note, [at])
  else places.push(at)
}

function isImage({ block }: PlacedMedia): boolean {
  return block.type === 'image'
}

interface Look {
  readonly problems: readonly MediaProblem[]
  readonly totals: MediaTotals
}

interface MediaProblem {
  readonly placed: PlacedMedia
  readonly message: ModelMessage
  readonly what: string
}

/** What came since the last look; undefined where more than that has changed. */
function lookAtAdded(run: Run): Look | undefined {
  const { mediaSeen: seen, transcript } = run
  if (seen === undefined || seen.length > transcript.length) return undefined
  const added = transcript.since(seen.length)
  if (added.some(({ kind }) => takesAway.has(kind))) return undefined
  let placed: (readonly [ModelMessage, readonly PlacedMedia[]])[] | undefined
  for (const entry of added) {
    if (entry.kind !== 'user' && entry.kind !== 'assistant') continue
    const { message } = entry
    if (mediaIn(message, 0).length === 0) continue
    // The message stands in the conversation as it is: what was said comes as the object that it is in the transcript.
    const index = entry.kind === 'assistant' ? -1 : transcript.messages().lastIndexOf(entry.message)
    if (index === -1) return undefined
    ;(placed ??= []).push([message, mediaIn(message, index)])
  }
  return placed === undefined ? { problems: none, totals: seen.totals } : look(run, placed, seen.totals)
}

/** Entries after which the model is shown less than before. */
const takesAway: ReadonlySet<TranscriptEntry['kind']> = new Set<TranscriptEntry['kind']>([
  'compact_boundary',
  'results_cleared',
  'media_removed',
])

const none: readonly never[] = Object.freeze([])

function lookAtAll(run: Run): Look {
  const placed: (readonly [ModelMessage, readonly PlacedMedia[]])[] = []
  for (const [index, message] of run.transcript.messages().entries()) {
    const media = mediaIn(message, index)
    if (media.length > 0) placed.push([message, media])
  }
  return look(run, placed, noMedia)
}

function look(
  { context: { mediaLimits } }: Run,
  messages: readonly (readonly [ModelMessage, readonly PlacedMedia[]])[],
  before: MediaTotals,
): Look {
  let totals = before
  const problems: MediaProblem[] = []
  for (const [message, media] of messages) {
    for (const placed of media) {
      totals = plusMedia(totals, placed.block, mediaLimits)
      // What a model wrote is between it and its service.
      const what = message.role === 'user' ? mediaProblem(placed.block, mediaLimits) : undefined
      if (what !== undefined) problems.push({ placed, message, what })
    }
  }
  return { problems, totals }
}

function allMedia(messages: readonly ModelMessage[]): readonly PlacedMedia[] {
  return messages.flatMap((message, index) => mediaIn(message, index))
}

/** What is wrong with what the person said since the last reply; null for what came otherwise, or before. */
function refusedOf(run: Run, problems: readonly MediaProblem[]): string | null {
  // The ending is decided where a last answer is asked for.
  if (problems.length === 0 || run.spent.closing !== null) return null
  const said = saidSinceReply(run)
  const whats = problems.filter(({ message }) => said.has(message)).map(({ what }) => what)
  return whats.length === 0 ? null : [...new Set(whats)].slice(0, mostSentences).join(' ')
}

/** The first few say it. */
const mostSentences = 3

function saidSinceReply({ transcript, startLength }: Run): ReadonlySet<ModelMessage> {
  const said = new Set<ModelMessage>()
  for (let index = transcript.length - 1; index >= startLength; index--) {
    const entry: TranscriptEntry | undefined = transcript.at(index)
    if (entry?.kind === 'assistant') break
    if (entry?.kind === 'user' && isOfPerson(entry)) said.add(entry.message)
  }
  return said
}
