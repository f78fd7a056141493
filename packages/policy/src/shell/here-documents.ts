import { type SourceReader, Unreadable } from './source-reader.ts'
import { hereDocumentAmbiguousEnd, hereDocumentDelimiter, hereDocumentWithoutEnd } from './shell-texts.ts'

export interface HereDocument {
  readonly end: string
  readonly isQuoted: boolean
  readonly stripsTabs: boolean
}

const unusual = hereDocumentDelimiter

/** Reads the delimiter after `<<`: a plain word, or a word that is quoted as a whole. */
export function readDelimiter(reader: SourceReader): Pick<HereDocument, 'end' | 'isQuoted'> {
  const pos = reader.position
  const quote = /['"\\]/.test(reader.peek()) ? reader.take() : ''
  // After a backslash, bash does not join lines.
  if (quote === '\\' && !/\w/.test(reader.peekRaw())) throw new Unreadable(unusual)
  if (quote === "'") while (/[\w .+:,@%/-]/.test(reader.peekRaw())) reader.takeRaw()
  else reader.takeWhile(quote === '"' ? /[\w .+:,@%/-]/ : /[\w.+:,@%/-]/)
  const end = reader.textFrom(pos + quote.length)
  const isClosed = quote === '' || quote === '\\' || reader.takeRaw() === quote
  if (end === '' || !isClosed || !/^[ \t\n;&|()<>]?$/.test(reader.peek())) throw new Unreadable(unusual)
  // `<<E<(x)`: a process substitution would belong to the delimiter, and is not performed.
  if (/[<>]/.test(reader.peek()) && reader.peekSecond() === '(') throw new Unreadable(unusual)
  return { end, isQuoted: quote !== '' }
}

/** Reads a body up to the line of its delimiter. `readText` reads the text of an unquoted one. */
export function readHereDocument(
  { end, isQuoted, stripsTabs }: HereDocument,
  reader: SourceReader,
  readText: () => void,
): void {
  for (const { start, text } of reader.lines(!isQuoted)) {
    const line = stripsTabs ? text.replace(/^\t+/, '') : text
    if (line === end) {
      reader.within(start, () => {
        if (isQuoted) while (reader.peekRaw() !== '') reader.takeLiteral()
        else readJoined(reader, readText)
      })
      return
    }
    // In a substitution some versions of bash also accept `E)` as the end.
    if (line.startsWith(end) && !/\w/.test(line.charAt(end.length))) throw new Unreadable(hereDocumentAmbiguousEnd)
  }
  throw new Unreadable(hereDocumentWithoutEnd)
}

function readJoined(reader: SourceReader, readText: () => void): void {
  const wasJoining = reader.joinsInQuotes
  reader.joinsInQuotes = true
  readText()
  reader.joinsInQuotes = wasJoining
}

/** Skips the line of the delimiter. */
export function skipDelimiterLine({ isQuoted }: HereDocument, reader: SourceReader): void {
  const peek = (): string => (isQuoted ? reader.peekRaw() : reader.peek())
  while (!/^\n?$/.test(peek())) reader.takeRaw()
  if (peek() === '\n') reader.takeRaw()
}
