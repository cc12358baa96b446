"""Reads a file with Perfetto's own protos (PyPI: perfetto, protobuf) and prints as JSON what it shows.

Everything that a reader of Perfetto's needs is checked on the way: names that are interned before they are used, tracks
that are described before they are used and only once, slices that are nested, ends that have a beginning.
"""
import json
import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as protos

MONOTONIC = 3  # of enum BuiltinClock
Event = protos.TrackEvent


def assert_known(message):
    """Every field is one of the proto's, with the type that it has there."""
    assert len(UnknownFieldSet(message)) == 0, message
    for field, value in message.ListFields():
        if field.message_type:
            for inner in value if hasattr(value, "__len__") else [value]:
                assert_known(inner)


def annotations(event, texts):
    values = {}
    for note in event.debug_annotations:
        kind = note.WhichOneof("value")
        value = getattr(note, kind)
        values[texts["debug_annotation_names"][note.name_iid]] = (
            texts["debug_annotation_string_values"][value] if kind == "string_value_iid" else value)
    return values


def process_of(track, tracks):
    """The name of the process that the track is of."""
    while track.parent_uuid:
        track = tracks[track.parent_uuid]
    return track.process.process_name


def read(path):
    trace = protos.Trace()
    with open(path, "rb") as file:
        trace.ParseFromString(file.read())
    texts = {"event_names": {}, "event_categories": {}, "debug_annotation_names": {},
             "debug_annotation_string_values": {}}
    tracks, open_slices, slices, moments, samples = {}, {}, [], [], []
    first = trace.packet[0]
    assert first.first_packet_on_sequence and first.sequence_flags & 1
    assert first.trace_packet_defaults.timestamp_clock_id == MONOTONIC
    assert first.clock_snapshot.primary_trace_clock == MONOTONIC
    events = []
    for number, packet in enumerate(trace.packet):
        assert packet.trusted_packet_sequence_id == first.trusted_packet_sequence_id != 0
        assert packet.sequence_flags & 2
        assert_known(packet)
        for kind, table in texts.items():
            for entry in getattr(packet.interned_data, kind):
                assert entry.iid and entry.iid not in table
                table[entry.iid] = entry.str.decode() if hasattr(entry, "str") else entry.name
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert track.uuid and track.uuid not in tracks
            assert not track.parent_uuid or track.parent_uuid in tracks
            tracks[track.uuid] = track
        if packet.HasField("track_event"):
            assert packet.track_event.track_uuid in tracks
            event = packet.track_event
            entry = {"track": tracks[event.track_uuid].name, "uuid": event.track_uuid, "at": packet.timestamp,
                     "process": process_of(tracks[event.track_uuid], tracks), "flows": list(event.flow_ids)}
            if event.type in (Event.TYPE_SLICE_BEGIN, Event.TYPE_INSTANT):
                entry["name"] = texts["event_names"][event.name_iid]
                entry["categories"] = [texts["event_categories"][iid] for iid in event.category_iids]
                entry["notes"] = annotations(event, texts)
            events.append((packet.timestamp, number, event, entry))
    for at, _, event, entry in sorted(events, key=lambda item: item[:2]):  # as Perfetto sorts them
        stack = open_slices.setdefault(event.track_uuid, [])
        if event.type == Event.TYPE_COUNTER:
            assert tracks[event.track_uuid].counter.unit == protos.CounterDescriptor.UNIT_SIZE_BYTES
            samples.append({**entry, "value": event.counter_value})
        elif event.type == Event.TYPE_INSTANT:
            moments.append(entry)
        elif event.type == Event.TYPE_SLICE_BEGIN:
            entry["depth"] = len(stack)
            stack.append(entry)
            slices.append(entry)
        else:
            assert event.type == Event.TYPE_SLICE_END
            stack.pop()["end"] = at
    assert all(not stack for stack in open_slices.values())
    processes = [track.process for track in tracks.values() if track.HasField("process")]
    assert len({process.pid for process in processes}) == len(processes)
    clocks = {clock.clock_id: clock.timestamp for clock in first.clock_snapshot.clocks}
    return {"process": [processes[0].pid, processes[0].process_name],
            "processes": [[process.pid, process.process_name, process.legacy_sort_index] for process in processes], "monotonic_ns": clocks[MONOTONIC], "realtime_ns": clocks[1],
            "order": [[track.name, track.sibling_order_rank] for track in tracks.values()],
            "parents": {track.name: tracks[track.parent_uuid].name for track in tracks.values() if track.parent_uuid},
            "packets": len(trace.packet), "slices": slices, "moments": moments, "samples": samples}


json.dump(read(sys.argv[1]), sys.stdout)
