import type { ComponentChildren, JSX } from 'preact'

/** An error, with what to do about it. Announced by screen readers at once. */
export function ErrorNote(props: { readonly children: ComponentChildren }): JSX.Element {
  return (
    <p class="note bad" role="alert">
      {props.children}
    </p>
  )
}

/** A note that something is being loaded. */
export function Busy(props: { readonly children: ComponentChildren }): JSX.Element {
  return (
    <p class="note soft" role="status">
      {props.children}
    </p>
  )
}
