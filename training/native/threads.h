// The same work in several threads, this one among them.
#pragma once
#include <functional>
#include <thread>
#include <vector>

inline void in_threads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> others;
  for (int i = 1; i < count; i++) others.emplace_back(work, i);
  work(0);
  for (std::thread& other : others) other.join();
}
