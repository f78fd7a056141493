import type { JsonObject } from '@halting/core'

// The parts of the AI SDK's model interface that we use. The types are structural, so programs compile without
// `@ai-sdk/provider`, whichever version the provider packages use. Type tests compare them with both versions. Arrays
// are mutable where those of the AI SDK are.

/**
 * A language model of the AI SDK, as provider packages create it: a `LanguageModelV3` (AI SDK 6) or a `LanguageModelV4`
 * (AI SDK 7).
 */
export interface AiSdkModel {
  /** Version of the interface. */
  readonly specificationVersion: 'v3' | 'v4'
  /** The name of the provider, such as `anthropic.messages`. */
  readonly provider: string
  /** The name of the model, such as `claude-sonnet-4-5`. */
  readonly modelId: string
  /** Starts one reply. The parameter is `never` because each version has its own options. */
  doStream(options: never): PromiseLike<AiSdkStream>
}

/** What `doStream` of an AI SDK model resolves with. */
export interface AiSdkStream {
  /** A `ReadableStream` of parts. */
  readonly stream: {
    /** The reader of the parts. */
    getReader(): AiSdkPartReader
    /** Ends the stream. */
    cancel(): Promise<void>
  }
  /** The HTTP response, if there was one. */
  readonly response?:
    | {
        /** Response headers, by lower-case name. */
        readonly headers?: Readonly<Record<string, string>> | undefined
      }
    | undefined
}

/** The reader of a stream of parts. */
export interface AiSdkPartReader {
  /** The next part. */
  read(): Promise<{
    /** Whether the stream has ended. */
    readonly done: boolean
    /** The part. */
    readonly value?: unknown
  }>
  /** Ends the stream. */
  cancel(): Promise<void>
}

/** Provider-specific options of a request or a part, by provider name. */
export type ProviderOptions = Record<string, { [name: string]: PlainJson | undefined }>

interface Carrier {
  providerOptions?: ProviderOptions
}

export interface TextPart extends Carrier {
  type: 'text'
  text: string
}

/** The bytes of a file, or their address. `originalUrl` is the address as written, if parsing changed it. */
export type FileData = { type: 'data'; data: string } | { type: 'url'; url: URL; originalUrl?: string }

interface FileOf<Data> extends Carrier {
  type: 'file'
  filename?: string
  data: Data
  mediaType: string
}

export type FilePart = FileOf<FileData>

interface ReasoningPart extends Carrier {
  type: 'reasoning'
  text: string
}

/** A file that the model created while reasoning. Version 4 only. */
interface ReasoningFilePart extends Carrier {
  type: 'reasoning-file'
  data: FileData
  mediaType: string
}

/** Content that only one provider understands, such as a compaction. Version 4 only. */
interface CustomPart extends Carrier {
  type: 'custom'
  kind: `${string}.${string}`
}

interface ToolCallPart extends Carrier {
  type: 'tool-call'
  toolCallId: string
  toolName: string
  input: unknown
  providerExecuted?: boolean
}

/** Mutable JSON. */
export type PlainJson = null | string | number | boolean | PlainJson[] | { [name: string]: PlainJson | undefined }

interface ToolResultOf<Content> extends Carrier {
  type: 'tool-result'
  toolCallId: string
  toolName: string
  output:
    | { type: 'text' | 'error-text'; value: string }
    | { type: 'json' | 'error-json'; value: PlainJson }
    | { type: 'content'; value: Content[] }
}

/** A result with files is `content`, which no version can mark as an error. */
export type ToolResultPart = ToolResultOf<TextPart | FilePart>

type AnswerPartOf<File, Result> = TextPart | File | ReasoningPart | ToolCallPart | Result

/** A part of an earlier reply. */
export type AnswerPart = AnswerPartOf<FilePart, ToolResultPart> | ReasoningFilePart | CustomPart

type MessageOf<File, Answer, Result> = Carrier &
  (
    | { role: 'system'; content: string }
    | { role: 'user'; content: (TextPart | File)[] }
    | { role: 'assistant'; content: Answer[] }
    | { role: 'tool'; content: Result[] }
  )

export type PromptMessage = MessageOf<FilePart, AnswerPart, ToolResultPart>

export interface FunctionTool extends Carrier {
  type: 'function'
  name: string
  description?: string
  inputSchema: JsonObject
}

/** A tool that the provider runs. */
export interface ProviderTool {
  type: 'provider'
  id: `${string}.${string}`
  name: string
  args: Record<string, unknown>
}

interface OptionsOf<Message> extends Carrier {
  prompt: Message[]
  maxOutputTokens: number
  tools?: (FunctionTool | ProviderTool)[]
  toolChoice?: { type: 'auto' | 'none' | 'required' } | { type: 'tool'; toolName: string }
  temperature?: number
  topP?: number
  stopSequences?: string[]
  seed?: number
  headers: Record<string, string>
  abortSignal?: AbortSignal
}

/** A request in the form of version 4. */
export type CallOptions = OptionsOf<PromptMessage> & {
  /** Whether the model reasons. Levels are left to the options that the model was created with. */
  reasoning?: 'none'
}

type FilePart3 = FileOf<string | URL>
type ResultFile3 =
  | { type: 'image-data' | 'file-data'; data: string; mediaType: string; filename?: string }
  | { type: 'image-url' | 'file-url'; url: string }
type ToolResult3 = ToolResultOf<TextPart | ResultFile3>
type Answer3 = AnswerPartOf<FilePart3, ToolResult3>
type Message3 = MessageOf<FilePart3, Answer3, ToolResult3>

/**
 * Converts a request to version 3, which has no custom parts and no reasoning levels, and has file data as a plain
 * value.
 */
export function inVersion3({ reasoning: _, ...options }: CallOptions): OptionsOf<Message3> {
  return {
    ...options,
    prompt: options.prompt.flatMap((message): Message3[] => {
      switch (message.role) {
        case 'system':
          return [message]
        case 'tool':
          return [{ ...message, content: message.content.map(result3) }]
        case 'user':
          return [{ ...message, content: message.content.map((part) => (part.type === 'file' ? file3(part) : part)) }]
        case 'assistant': {
          const content = message.content.flatMap((part) => answerPart3(part) ?? [])
          return content.length === 0 ? [] : [{ ...message, content }]
        }
      }
    }),
  }
}

function answerPart3(part: AnswerPart): Answer3 | undefined {
  switch (part.type) {
    case 'custom':
    case 'reasoning-file':
      return undefined
    case 'file':
      return file3(part)
    case 'tool-result':
      return result3(part)
    default:
      return part
  }
}

function file3({ data, ...part }: FilePart): FilePart3 {
  return { ...part, data: data.type === 'data' ? data.data : data.url }
}

function result3({ output, ...part }: ToolResultPart): ToolResult3 {
  if (output.type !== 'content') return { ...part, output }
  const value = output.value.map((item) => (item.type === 'file' ? resultFile3(item) : item))
  return { ...part, output: { type: 'content', value } }
}

function resultFile3({ data, mediaType, filename }: FilePart): ResultFile3 {
  const kind = mediaType.startsWith('image/') ? 'image' : 'file'
  if (data.type === 'url') return { type: `${kind}-url`, url: data.originalUrl ?? data.url.href }
  return { type: `${kind}-data`, data: data.data, mediaType, ...(filename !== undefined && { filename }) }
}
