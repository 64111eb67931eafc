# SPDX-License-Identifier: BSD-2-Clause
require 'fiddle'
require 'json'
require 'set'

MALLOC = Fiddle::Function.new(Fiddle::Handle::DEFAULT['malloc'], [Fiddle::TYPE_SIZE_T], Fiddle::TYPE_VOIDP)
FREE = Fiddle::Function.new(Fiddle::Handle::DEFAULT['free'], [Fiddle::TYPE_VOIDP], Fiddle::TYPE_VOID)
SEEN = Hash.new(0)
LOCK = Mutex.new
COUNT = Integer(ARGV[0])
$marks = 0

# A location of a function in C has the place of its caller. Those are native frames here, told by names.
NATIVE = Set.new(%w[each map call sort inject instance_eval class_eval eval send catch loop times tap then new gsub yield
                    next resume synchronize public_send +])

# Since 3.4 a label has the class, which is not with the code: Thing#walk, block in Thing.still.
def name_of(at) = at.label.sub(/(\A| in )[A-Z][\w:]*[#.]/, '\1')

def mark
  names = caller_locations(1).reject do |at|
    at.path.nil? || (NATIVE.include?(name_of(at)) && !at.path.start_with?('<internal'))
  end
  names = names.map { |at| "#{name_of(at)} (#{at.path.start_with?('(') ? at.path : at.path.split('/').last}:#{at.lineno})" }.reverse
  LOCK.synchronize { SEEN[JSON.generate(names)] += 1; $marks += 1 }
  FREE.call(MALLOC.call(BLOCK_BYTES))
end

def step(rest)
  return mark if rest.empty?
  rest = rest.dup
  send(KINDS[rest.pop], rest)
end

class Thing
  def initialize(rest, run = false)
    @rest = rest
    step_in if run
  end

  def step_in = Object.send(:step, @rest)
  def to_str
    Object.send(:step, @rest)
    "thing"
  end

  def walk
    yield 1

    Object.send(:step, @rest)
    yield 2
  end

  def method_missing(name, *rest)
    return super unless name == :unknown
    Object.send(:step, @rest)
  end

  def respond_to_missing?(*) = true
  class << self
    def still(rest) = Object.send(:step, rest)
  end
end

def plain(rest) = step(rest)

def recursing(rest, left = 20)
  left == 0 ? step(rest) : recursing(rest, left - 1)
end

def blocks(rest)
  [1].each do |x|
    step(rest)
  end
end

def nested_blocks(rest)
  [1].map { [2].each { |y|
    [3].inject(0) { |a, b|
      step(rest)
      a } } }
end

def procs(rest)
  made = proc { step(rest) }
  made.call
  made.()
end

def lambdas(rest)
  held = ->(x) { step(x) }
  held.call(rest)
  [rest].each(&held)
end

def methods_as_blocks(rest)
  [rest].each(&method(:plain))
end

def sorting(rest)
  [2, 1].sort { |a, b| step(rest); a <=> b }
end

def fibers(rest)
  Fiber.new do
    step(rest)
    Fiber.yield 1
    step([])
  end.resume
end

def enumerators(rest)
  made = Enumerator.new do |y|
    y << 1
    step(rest)
    y << 2
  end
  made.next
  made.next
end

def threads(rest)
  return step(rest) if Thread.list.size > 12
  Thread.new { step(rest) }.join
end

def raising(rest)
  begin
    raise ArgumentError, 'x'
  rescue ArgumentError
    step(rest)
  ensure
    step([])
  end
end

def through(rest)
  [1].each do
    begin
      [2].each { raise 'deep' }
    rescue => e
      step(rest)
    end
  end
end

def catching(rest)
  catch(:out) do
    step(rest)
    [1].each { throw :out }
  end
  step([])
end

def early(rest)
  [1, 2].each { |x| begin; return step(rest); ensure; step([]); end }
end

def evaluated(rest)
  eval("\n" * rand(300) + "step(rest)", binding, 'made.rb', 5)
end

def in_instance(rest)
  made = rest
  Object.new.instance_eval { Object.send(:step, made) }
end

def made_by_string(rest)
  name = "made#{rand(1000)}"
  Object.class_eval("def #{name}(r)#{"\n" * rand(300)}\n step(r)\nend", 'string.rb', 1)
  send(name, rest)
end

DEFINED = []
Object.define_method(:defined_here) do |rest|
  step(rest)
end

def defining(rest)
  singleton = Object.new
  singleton.define_singleton_method(:single) do
    Object.send(:step, rest)
  end
  singleton.single
end

def größe_名前(rest)
  step(rest)
end

def long(rest)
  a = 0
  MANY_STATEMENTS
  step(rest)
  a
end

def objects(rest) = Thing.new(rest, true)
def strings(rest) = "a" + Thing.new(rest)
def walking(rest) = Thing.new(rest).walk { |x| step([]) if x == 2 }
def missing(rest) = Thing.new(rest).unknown
def still(rest) = Thing.still(rest)
def replacing(rest) = 'aba'.gsub(/b/) { step(rest); 'x' }
def numbers(rest) = 1.times { step(rest) }
def tapping(rest) = rest.tap { |x| step(x) }
def looping(rest) = loop { step(rest); break }
def hashes(rest) = { a: 1 }.each { |k, v| step(rest) }
def classes(rest)
  Class.new.class_eval do
    Object.send(:step, rest)
    def self.inherited(_) = nil
  end
end

def optional(rest, value = step(rest), key: step([])) = value
def refining(rest) = rest.then { step(_1) }

KINDS = %i[plain recursing blocks nested_blocks procs lambdas methods_as_blocks sorting fibers enumerators threads raising
           through catching early evaluated in_instance made_by_string defined_here defining größe_名前 long objects
           strings walking missing still replacing numbers tapping looping hashes classes optional refining]

def work(count, seed)
  random = Random.new(seed)
  step(Array.new(random.rand(1..6)) { random.rand(KINDS.size) }) while $marks < count
end

puts 'ready'
$stdout.flush
$stdin.gets
(0...Integer(ARGV[2])).map { |seed| Thread.new { work(COUNT / 2, seed) } }.each(&:join)
work(COUNT, 99)
File.write(ARGV[1], JSON.generate(SEEN))
puts 'done'
$stdout.flush
$stdin.gets
