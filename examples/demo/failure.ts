/**
 * What ends the demo early. It is thrown where the fact is met and caught once, in `demo.ts`, which prints its message as one
 * line: a script that cannot go on has nothing better to do with it. Anything else that is thrown is a bug and keeps its stack.
 */
export class DemoFailure extends Error {
  override readonly name = 'DemoFailure'
}
