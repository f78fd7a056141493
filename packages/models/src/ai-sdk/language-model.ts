import type { JsonObject } from '@halting/core'

// The interface of the AI SDK's language models, as far as it is used: structural, so that programs compile without
// `@ai-sdk/provider`, whichever of its versions the provider packages bring. Type tests compare it with both versions.
// Arrays are not readonly where the AI SDK has none that are.

/**
 * A language model of the AI SDK, as a provider package creates it: a `LanguageModelV3` (AI SDK 6) or a `LanguageModelV4` (AI SDK 7).
 */
export interface AiSdkModel {
  /** The version of the interface. */
  readonly specificationVersion: 'v3' | 'v4'
  /** The name of the provider, such as `anthropic.messages`. */
  readonly provider: string
  /** The name of the model, such as `claude-sonnet-4-5`. */
  readonly modelId: string
  /** Starts one reply. `never`: each version has options of its own. */
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
  /** Of the HTTP answer, where there was one. */
  readonly response?:
    | {
        /** Headers of the answer, by lower-case name. */
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

/** What a provider wants with a request or a part, by the name of the provider. */
export type ProviderOptions = Record<string, { [name: string]: PlainJson | undefined }>

interface Carrier {
  providerOptions?: ProviderOptions
}

export interface TextPart extends Carrier {
  type: 'text'
  text: string
}

/** Where the bytes of a file are. `originalUrl` is the address as it was written, where parsing changed it. */
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

/** A file that the model made while it was thinking. Of version 4. */
interface ReasoningFilePart extends Carrier {
  type: 'reasoning-file'
  data: FileData
  mediaType: string
}

/** Content that one provider alone understands, such as a compaction. Of version 4. */
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

/** JSON that may be written to. */
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

/** A result with files in it is `content`, which no version can mark as an error. */
export type ToolResultPart = ToolResultOf<TextPart | FilePart>

type AnswerPartOf<File, Result> = TextPart | File | ReasoningPart | ToolCallPart | Result

/** A part of what the model answered before. */
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

/** A tool of the provider's own. */
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

/** A request as version 4 takes it. */
export type CallOptions = OptionsOf<PromptMessage> & {
  /** Whether the model is to reason. Levels are left to the options that the model was made with. */
  reasoning?: 'none'
}

type FilePart3 = FileOf<string | URL>
type ResultFile3 =
  | { type: 'image-data' | 'file-data'; data: string; mediaType: string; filename?: string }
  | { type: 'image-url' | 'file-url'; url: string }
type ToolResult3 = ToolResultOf<TextPart | ResultFile3>
type Answer3 = AnswerPartOf<FilePart3, ToolResult3>
type Message3 = MessageOf<FilePart3, Answer3, ToolResult3>

/** A request as version 3 takes it: without custom parts and levels of reasoning, and with the data of a file as a plain value. */
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
