/**
 * The few globals that core may use and that the language's own library does not declare. Every runtime has them.
 *
 * Core is compiled with neither the types of Node nor those of a browser, so what is not declared here does not exist
 * for it. Clocks are left out on purpose: no timers, no `AbortSignal.timeout`, no `performance`. The one file that
 * waits, `values/system-clock.ts`, declares its timer and its clock itself.
 *
 * No published declaration refers to this file: a program that uses core sees the types of its own runtime.
 */
interface Event {
  readonly type: string
}

interface AbortSignal {
  readonly aborted: boolean
  readonly reason: any
  throwIfAborted(): void
  addEventListener(type: 'abort', listener: (event: Event) => void, options?: { once?: boolean }): void
  removeEventListener(type: 'abort', listener: (event: Event) => void): void
}

declare var AbortSignal: {
  abort(reason?: unknown): AbortSignal
  any(signals: AbortSignal[]): AbortSignal
}

interface AbortController {
  readonly signal: AbortSignal
  abort(reason?: unknown): void
}

declare var AbortController: {
  new (): AbortController
}

interface String {
  isWellFormed(): boolean
  toWellFormed(): string
}

declare function structuredClone<T>(value: T): T

declare function queueMicrotask(callback: () => void): void

declare class TextEncoder {
  encode(text: string): Uint8Array
  encodeInto(text: string, into: Uint8Array): { readonly read: number; readonly written: number }
}

interface ReadableStreamDefaultController<Item> {
  readonly desiredSize: number | null
  enqueue(item: Item): void
  close(): void
}

interface ReadableStreamDefaultReader<Item> {
  read(): Promise<{ readonly done: false; readonly value: Item } | { readonly done: true; readonly value?: undefined }>
  cancel(reason?: unknown): Promise<void>
}

interface ReadableStream<Item> {
  getReader(): ReadableStreamDefaultReader<Item>
}

declare var ReadableStream: {
  new <Item>(
    source: {
      pull(controller: ReadableStreamDefaultController<Item>): Promise<void>
      cancel(reason?: unknown): Promise<void>
    },
    strategy: { readonly highWaterMark: number },
  ): ReadableStream<Item>
}
