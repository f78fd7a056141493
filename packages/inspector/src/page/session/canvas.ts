import { effect } from '@preact/signals'
import type { RefObject } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

/** Draws in CSS pixels on a cleared canvas of this size. */
export type Draw = (context: CanvasRenderingContext2D, width: number, height: number) => void

/**
 * A canvas that is redrawn when its size changes, and when a signal that was read during drawing changes, at most once per frame. `inputs`: other
 * inputs of the drawing.
 */
export function useCanvas(draw: Draw, inputs: readonly unknown[]): RefObject<HTMLCanvasElement | null> {
  const canvas = useRef<HTMLCanvasElement>(null)
  const latest = useRef(draw)
  latest.current = draw
  useEffect(() => {
    const element = canvas.current
    const context = element?.getContext('2d')
    if (element === null || context === null || context === undefined) return
    let frame = 0
    let stop = (): void => undefined
    const paint = (): void => {
      frame = 0
      stop()
      // The first pass tracks the signals that it reads; a change then only requests a frame.
      let isFirst = true
      stop = effect(() => {
        if (!isFirst) {
          ask()
          return
        }
        isFirst = false
        const { clientWidth: width, clientHeight: height } = element
        const density = devicePixelRatio
        const [wide, high] = [Math.round(width * density), Math.round(height * density)]
        if (element.width !== wide || element.height !== high) Object.assign(element, { width: wide, height: high })
        context.setTransform(density, 0, 0, density, 0, 0)
        context.clearRect(0, 0, width, height)
        if (width > 0 && height > 0) latest.current(context, width, height)
      })
    }
    const ask = (): void => {
      if (frame === 0) frame = requestAnimationFrame(paint)
    }
    const observer = new ResizeObserver(ask)
    observer.observe(element)
    ask()
    return () => {
      observer.disconnect()
      cancelAnimationFrame(frame)
      stop()
    }
  }, inputs)
  return canvas
}
